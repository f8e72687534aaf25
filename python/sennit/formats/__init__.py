"""Schedules as other tools' documents, and theirs as schedules."""
