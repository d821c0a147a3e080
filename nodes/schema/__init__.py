"""Parts shared by node schemas: wire types, inputs, texts, figures."""
