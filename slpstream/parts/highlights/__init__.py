"""The conversions, stocks and situations of games that are worth showing again."""
