"""Search algorithms: generators that yield schedules and are sent their scores."""
