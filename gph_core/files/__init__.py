"""Files: reading, writing, the forms of their data, and comparisons of conditions."""
