"""The protocol of Dolphin's spectator server, over ENet.

You can use it to serve a station, and also to record a Dolphin.
"""
