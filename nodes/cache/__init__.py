"""The nodes that make a model faster or shape what does: caches, schedules, policies."""
