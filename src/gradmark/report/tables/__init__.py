"""Text for people: tables, plots and findings on a terminal."""
