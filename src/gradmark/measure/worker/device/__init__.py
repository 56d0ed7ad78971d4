"""Rows on a device: timed by the device's own clock, and what they ask of it counted."""
