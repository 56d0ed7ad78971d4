"""What every renderer shows, as plain data."""
