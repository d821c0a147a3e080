"""What node schemas share: wire types, inputs, texts, figures."""
