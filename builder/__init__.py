"""Endtable's builder: from the rules of a game to a verified table file."""
