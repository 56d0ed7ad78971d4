"""Isolation: what users wrote runs in processes of its own, under limits, and leaves nothing behind."""
