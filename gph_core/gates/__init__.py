"""Gates: rules that decide during a run whether a step is cached."""
