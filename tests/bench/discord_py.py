# SPDX-License-Identifier: MIT
"""What the section discord compares with: a bot of discord.py, as KernelBot is, which defers /leaderboard submit test, reads
the attachment and says that it has it, and completes names of boards from memory.

    discord_py.py API GATEWAY TOKEN"""
import asyncio
import sys

import discord
import yarl
from discord import app_commands

CLIENT = discord.Client(intents=discord.Intents(guilds=True))
TREE = app_commands.CommandTree(CLIENT)
LEADERBOARD = app_commands.Group(name="leaderboard", description="Leaderboards")
SUBMIT = app_commands.Group(name="submit", description="Submit a file", parent=LEADERBOARD)
TREE.add_command(LEADERBOARD)


@SUBMIT.command(name="test", description="Submit in the mode test")
async def submit_test(interaction, script: discord.Attachment, leaderboard_name: str = ""):
    await interaction.response.defer(ephemeral=True)
    size = len(await script.read())
    await interaction.edit_original_response(content=f"⏳ {size} bytes for {leaderboard_name}")


@submit_test.autocomplete("leaderboard_name")
async def names(_interaction, current):
    return [app_commands.Choice(name=one, value=one) for one in ("vectors", "matmul") if one.startswith(current)]


async def main(api, gateway, token):
    discord.http.Route.BASE = api
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    async with CLIENT:
        await CLIENT.login(token)
        await TREE.sync()
        await CLIENT.connect()


asyncio.run(main(*sys.argv[1:]))
