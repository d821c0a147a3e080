"""What nodes show and save of results: texts, tables and figures."""
