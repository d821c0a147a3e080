"""Report of *Method Shootout*: numbers, table and figure."""
