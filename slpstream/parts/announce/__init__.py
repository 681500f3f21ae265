"""Make it possible to find us on the local network: the daemon by DNS-SD, and a relayed station by the same broadcasts
that a console sends.
"""
