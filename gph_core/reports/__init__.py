"""Reports of results that nodes show and save: texts, tables and figures."""
