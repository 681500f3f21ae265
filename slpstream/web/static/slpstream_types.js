/**
 * Types of slpstream's messages, for editors and `tsc --checkJs`. At run time this module is empty.
 *
 *     /** @type {import("./slpstream_types.js").FrameMessage} *\/
 *
 * Names are those of slippi-js. Values that a replay lacks are left out: treat absent and null alike.
 */

export {};

/**
 * @typedef {"game" | "frame" | "event" | "stats" | "diagnostic"} Topic
 * @typedef {"live" | "finalized"} FramesMode
 * @typedef {"conflate" | "lossless"} Delivery
 * @typedef {"idle" | "playing" | "stalled" | "offline"} StationState
 */

/**
 * @typedef {object} PlayerSetup       slippi-js: `PlayerType`.
 * @property {number} playerIndex      0 to 3.
 * @property {number} port             1 to 4.
 * @property {number} characterId      External character id.
 * @property {number} characterColor   Index of the costume.
 * @property {number} type             0 human, 1 CPU, 2 demo, 3 empty.
 * @property {number} startStocks
 * @property {number} teamId           0 red, 1 blue, 2 green; meaningless without `isTeams`.
 * @property {string} nametag
 * @property {string} displayName
 * @property {string} connectCode
 * @property {string} userId
 * @property {number} [damageStart]
 * @property {string} [controllerFix]  `None`, `Mixed`, `UCF` or `Dween`.
 *
 * @typedef {object} MeleeSettings        slippi-js: `GameStartType`.
 * @property {string} slpVersion
 * @property {number} timerType           2 counts down, 3 up.
 * @property {number} inGameMode          32 is stock.
 * @property {boolean} isTeams
 * @property {number} stageId
 * @property {number} startingTimerSeconds
 * @property {PlayerSetup[]} players
 * @property {boolean} [isPAL]
 * @property {number} [randomSeed]
 * @property {{sessionId: string, gameNumber: number, tiebreakerNumber: number}} [matchInfo]
 *
 * @typedef {MeleeSettings & Record<string, any>} Settings  Other formats have their own settings; see the reference.
 */

/**
 * @typedef {object} PreFrame          slippi-js: `PreFrameUpdateType`.
 * @property {number} frame
 * @property {number} playerIndex
 * @property {boolean} isFollower
 * @property {number} actionStateId
 * @property {number} positionX
 * @property {number} positionY
 * @property {number} facingDirection  -1 left, 1 right.
 * @property {number} joystickX        -1 to 1.
 * @property {number} joystickY
 * @property {number} cStickX
 * @property {number} cStickY
 * @property {number} trigger          0 to 1.
 * @property {number} buttons          As processed by the game.
 * @property {number} physicalButtons  As held on the controller.
 * @property {number} physicalLTrigger 0 to 1.
 * @property {number} physicalRTrigger
 * @property {number} [percent]
 * @property {number} [rawJoystickX]
 * @property {number} [rawJoystickY]
 * @property {number} [rawCStickX]
 * @property {number} [rawCStickY]
 *
 * @typedef {object} PostFrame         slippi-js: `PostFrameUpdateType`.
 * @property {number} frame
 * @property {number} playerIndex
 * @property {boolean} isFollower
 * @property {number} internalCharacterId
 * @property {number} actionStateId
 * @property {number} positionX
 * @property {number} positionY
 * @property {number} facingDirection
 * @property {number} percent
 * @property {number} shieldSize
 * @property {number} lastAttackLanded
 * @property {number} currentComboCount
 * @property {number} lastHitBy        Player index; 6 for no player.
 * @property {number} stocksRemaining
 * @property {number} [actionStateCounter]
 * @property {boolean} [isAirborne]
 * @property {number} [lCancelStatus]  1 successful, 2 failed.
 * @property {number} [hitlagRemaining]
 * @property {{airX: number, y: number, attackX: number, attackY: number, groundX: number}} [selfInducedSpeeds]
 *
 * @typedef {object} ItemUpdate        slippi-js: `ItemUpdateType`.
 * @property {number} frame
 * @property {number} typeId
 * @property {number} spawnId
 * @property {number} state
 * @property {number} positionX
 * @property {number} positionY
 * @property {number} [owner]
 *
 * @typedef {{pre: PreFrame, post: PostFrame}} PlayerFrame
 *
 * @typedef {object} FrameEntry        slippi-js: `FrameEntryType`.
 * @property {number} frame            The first one is -123.
 * @property {number} revision         0 at first, and 1 more each time a rollback repeats the frame number.
 * @property {{frame: number, seed: number, sceneFrameCounter?: number}} [start]
 * @property {Record<string, PlayerFrame>} players    By player index.
 * @property {Record<string, PlayerFrame>} [followers]
 * @property {ItemUpdate[]} [items]
 * @property {Record<string, any>[]} [stageEvents]    Each has a `kind`.
 */

/**
 * @typedef {object} MoveLanded
 * @property {number} playerIndex  The attacker.
 * @property {number} frame
 * @property {number} moveId
 * @property {number} hitCount
 * @property {number} damage
 *
 * @typedef {object} Combo
 * @property {number} playerIndex  The player who is hit.
 * @property {number} startFrame
 * @property {number} [endFrame]   Absent while the combo continues.
 * @property {number} startPercent
 * @property {number} currentPercent
 * @property {number} [endPercent]
 * @property {MoveLanded[]} moves
 * @property {boolean} didKill
 * @property {number} [lastHitBy]
 *
 * @typedef {Combo & {openingType: "unknown" | "neutral-win" | "counter-attack" | "trade"}} Conversion
 *
 * @typedef {object} Stats         slippi-js: `StatsType`.
 * @property {boolean} gameComplete
 * @property {number} lastFrame
 * @property {number} playableFrameCount
 * @property {Record<string, any>[]} stocks
 * @property {Conversion[]} conversions
 * @property {Combo[]} combos
 * @property {Record<string, any>[]} actionCounts
 * @property {Record<string, any>[]} overall
 * @property {Record<string, any>} [extra]
 */

/**
 * @typedef {object} Envelope
 * @property {string} station
 * @property {string} gameId
 * @property {string} cursor      Position in the log, for resuming after this message.
 *
 * @typedef {Envelope & {type: "game_start", format: string, rate: [number, number], settings: Settings}} GameStartMessage
 * @typedef {Envelope & {type: "frame", frame: FrameEntry}} FrameMessage
 * @typedef {Envelope & {type: "finalized", through: number}} FinalizedMessage
 * @typedef {Envelope & {type: "stats", frame: number, stats: Stats}} StatsMessage
 * @typedef {Envelope & {type: "metadata", metadata: Record<string, any>}} MetadataMessage
 *
 * @typedef {object} GameEndPayload
 * @property {"game_end"} type
 * @property {string} reason      `game_end`, `raw_length`, `file_end`, `incomplete`, `error`.
 * @property {{playerIndex: number, position: number}[]} [winners]
 * @property {{gameEndMethod: number, lrasInitiatorIndex?: number, placements?: {playerIndex: number, position: number}[]}} [gameEnd]
 * @property {number} [lastFrame]
 * @property {number} [durationSeconds]
 * @property {PlayerScore[]} [scores]  Only of games without stocks.
 * @property {boolean} [tied]          Several sides came first; sudden death follows.
 * @property {"inferred"} [basis]      The replay has no Game End, and its last frame shows the winners.
 *
 * @typedef {object} PlayerScore
 * @property {number} playerIndex
 * @property {number} kos
 * @property {number} falls
 * @property {number} selfDestructs
 * @property {number} [score]          Only in time mode.
 *
 * @typedef {Envelope & GameEndPayload} GameEndMessage
 *
 * @typedef {object} GameEventPayload  Has the members of its kind, see `docs/reference/stats.md`.
 * @property {"event"} type
 * @property {string} kind        Those of Melee are listed in `docs/reference/stats.md#events`, with their members.
 * @property {number} [frame]
 * @property {number} [playerIndex]  In combos and conversions, the player who is hit.
 * @property {Combo} [combo]
 * @property {Conversion} [conversion]
 * @property {number} [percent]
 * @property {number} [change]
 * @property {number} [stocksRemaining]
 * @property {number} [byPlayerIndex]
 * @property {boolean} [selfDestruct]
 * @property {Record<string, any>} [life]
 * @property {PlayerScore[]} [scores]
 *
 * @typedef {Envelope & GameEventPayload} GameEventMessage
 *
 * @typedef {object} DiagnosticPayload
 * @property {"diagnostic"} type
 * @property {string} severity
 * @property {string} code
 * @property {number} offset
 * @property {string} message
 *
 * @typedef {Partial<Envelope> & DiagnosticPayload} DiagnosticMessage  Has no `gameId` and `cursor` before Game Start.
 */

/**
 * @typedef {object} Thing             A stage, a character, a machine. `kind` and `id` identify it if it has no name.
 * @property {string} [kind]           The game's word for it: `stage`, `course`, `machine`.
 * @property {number | string} [id]    As in the settings.
 * @property {string} [name]
 *
 * @typedef {object} PlayerSummary
 * @property {number} index            Player index.
 * @property {number} [port]
 * @property {string} [name]           Display name, or another name that the format has.
 * @property {string} [tag]            In-game name tag.
 * @property {string} [code]           Connect code.
 * @property {Thing} [character]       The character, machine or car of the player.
 * @property {number} [color]
 * @property {number} [team]           Meaningless without `isTeams`.
 * @property {string} [teamName]
 * @property {boolean} [human]         False for computer players.
 * @property {number} [startStocks]    Only in games with stocks.
 * @property {number} [score]          Score at the end of a game that is played for a score.
 * @property {Record<string, any>} [setup]  As in the settings.
 *
 * @typedef {object} GameSummary        A game in terms that are the same for every format.
 * @property {string} [version]        Version of the game or of the format.
 * @property {Thing} [place]           The stage, course or track.
 * @property {string} [rules]          A short description.
 * @property {string} [mode]           `time`, `coin`, `bonus`, `stamina`, or `mode` and a number; absent for stock mode.
 * @property {PlayerSummary[]} [players]
 * @property {string} [who]            The participants in one line, where a list of players would not fit.
 * @property {boolean} [isTeams]
 * @property {boolean} [versus]        Games are grouped into sets.
 * @property {string} [matchId]
 * @property {boolean} [suddenDeath]   The end of the game before it, not a separate game.
 * @property {string} [startedAt]
 * @property {"finished" | "time" | "quit"} [ending]
 * @property {number} [quitter]        Player index.
 * @property {number[]} [winners]      Player indexes.
 * @property {boolean} [tied]          Several sides came first; sudden death follows.
 * @property {"inferred"} [basis]      The replay has no end, and its last frame shows the winners.
 * @property {Record<string, any>} [setup]  Place and rules, as in the settings.
 */

/**
 * @typedef {{type: "hello", protocol: number, version: string, stations: string[]}} HelloMessage
 *
 * @typedef {object} SnapshotMessage  The game in progress, for subscribers that join it live.
 * @property {"snapshot"} type
 * @property {string} station
 * @property {string} gameId
 * @property {string} cursor
 * @property {string} [format]
 * @property {[number, number]} [rate]
 * @property {Settings} [settings]
 * @property {GameSummary} [summary]
 * @property {FrameEntry} [frame]     The whole frame, regardless of `fields`.
 * @property {Stats} [stats]
 * @property {SetScore} [set]
 *
 * @typedef {object} StationMessage
 * @property {"station"} type
 * @property {string} station
 * @property {StationState} state
 * @property {string} [reason]
 * @property {boolean} [starting]      The station is `offline` only because its folder has not been searched yet.
 * @property {string} [gameId]
 * @property {GameSummary} [summary]  Summary of the game so far.
 * @property {string} [at]            Wall-clock time.
 *
 * @typedef {object} SetPlayer          A player of the set, as of its newest game.
 * @property {number} [playerIndex]
 * @property {number} [port]
 * @property {number} [side]           Index in `sides`.
 * @property {string} [name]           The operator's name for the player, else that of the seat, the netplay name or tag.
 * @property {boolean} [namedByOperator]
 * @property {string} [seatName]       The name with which a player claimed the seat.
 * @property {string} [connectCode]
 * @property {string} [netplayName]
 * @property {string} [tag]
 * @property {number} [characterId]    External character id.
 * @property {number} [characterColor]
 * @property {number} [team]           0 red, 1 blue, 2 green; only in team games.
 * @property {number} [score]          Games won.
 * @property {string} [sponsor]        From the operator or the seat: the player's sponsor or team. `name` does not contain it.
 * @property {string} [pronouns]       From the operator or the seat.
 * @property {number} [seed]           The operator's: the seed in the event, from 1.
 *
 * @typedef {object} SetSide           A player, or a team.
 * @property {string} [name]
 * @property {number} score            Sum of `won` and `added`; at least 0.
 * @property {number} won
 * @property {number} [added]          Games added by the operator.
 * @property {number[]} players        Player indexes.
 *
 * @typedef {object} SetGame
 * @property {string} gameId
 * @property {number} [stageId]
 * @property {string} [mode]           As in the summary.
 * @property {number} [durationSeconds]
 * @property {string} verdict          `playing`, `counted`, `handwarmer`, `quit`, `unfinished`, `no_winner`, `with_cpu`,
 *     `sudden_death`, `not_counted_by_operator`.
 * @property {boolean} counts
 * @property {string} reason           The verdict in words.
 * @property {number} [winner]         Index in `sides`.
 * @property {number[]} score          Score of each side after this game.
 * @property {{playerIndex: number, port: number, side: number, characterId?: number, characterColor?: number,
 *     stocks?: number, percent?: number, score?: number, name?: string, enteredStocks?: number,
 *     keptStocks?: number}[]} players  In a crew battle with the stocks that they came with and kept.
 * @property {{counts?: boolean, winner?: number, beginsSet?: boolean, sides?: Record<string, number>,
 *     stocks?: Record<string, number>}} [operator]
 * @property {{gameId: string, durationSeconds?: number}[]} [suddenDeaths]  The sudden deaths that ended it, in order.
 *
 * @typedef {object} SetScore          See `docs/howto/sets.md`.
 * @property {string} [setId]
 * @property {string} [gameId]         The newest game or sudden death of the set.
 * @property {"upcoming" | "running" | "over"} [state]
 * @property {number} [bestOf]
 * @property {number} [winsNeeded]
 * @property {SetPlayer[]} players
 * @property {number[]} [score]        In the order of `players`.
 * @property {{crews: {name: string, stocks: number}[], stocksPerPlayer: number}} [crewBattle]  If it is one.
 * @property {SetSide[]} [sides]
 * @property {number} [winner]         Index in `sides`.
 * @property {SetGame[]} [games]
 * @property {number} [olderGames]
 * @property {string} [round]
 * @property {string} [event]
 * @property {string[]} [casters]
 * @property {boolean} [swapped]       Show the second of two sides on the left.
 * @property {number} [lastChange]     Id of the newest change by an operator.
 *
 * @typedef {{type: "set", station: string} & SetScore} SetMessage
 * @typedef {object} OnAirMessage  To subscriptions of `on-air` and of all stations.
 * @property {"on_air"} type
 * @property {string | null} station   `null` while no station is on air.
 * @property {"operator" | "rule" | null} by
 * @property {string | null} since     When it went on air, or when the last one left.
 *
 * @typedef {object} SituationMessage  One of the configured situations, see `docs/data/situations.md`.
 * @property {"situation"} type
 * @property {string} station
 * @property {string} gameId
 * @property {string} at               When it was found.
 * @property {string} name             In the configuration.
 * @property {string} query
 * @property {number} number           Of those of this name in this game, from 1.
 * @property {PlayerSummary} player
 * @property {PlayerSummary} opponent
 * @property {number[]} frames         The frame in which each step happened.
 * @property {number} knownFrame       The frame in which it was known.
 *
 * @typedef {object} OddsMessage  To subscriptions that ask for it (`also`), see `slpstream/parts/odds/docs.md`.
 * @property {"odds"} type
 * @property {string} station
 * @property {string} gameId
 * @property {number} frame
 * @property {string} frameCursor      Cursor of this frame in the `finalized` log.
 * @property {number[]} players        The two players.
 * @property {number} odds             Chance of the first of them to win, from 0 to 1.
 * @property {number[]} stocks         Of both.
 *
 * @typedef {{type: "lagged", missed: number, station?: string}} LaggedMessage
 * @typedef {{type: "error", code: number, message: string}} ErrorMessage
 */

/**
 * @typedef {GameStartMessage | FrameMessage | FinalizedMessage | GameEventMessage | StatsMessage | GameEndMessage
 *     | MetadataMessage | DiagnosticMessage} LogMessage
 * @typedef {HelloMessage | SnapshotMessage | StationMessage | SetMessage | OnAirMessage | SituationMessage
 *     | OddsMessage | LaggedMessage | ErrorMessage} StatusMessage
 * @typedef {LogMessage | StatusMessage} Message
 */

/**
 * The argument of a client's listeners, by type.
 * @typedef {object} Events
 * @property {Message} message        Every message, before the listeners of its type are called.
 * @property {GameStartMessage} game_start
 * @property {FrameMessage} frame
 * @property {FinalizedMessage} finalized
 * @property {GameEventMessage} event
 * @property {StatsMessage} stats
 * @property {GameEndMessage} game_end
 * @property {MetadataMessage} metadata
 * @property {DiagnosticMessage} diagnostic
 * @property {HelloMessage} hello
 * @property {SnapshotMessage} snapshot
 * @property {StationMessage} station
 * @property {SetMessage} set
 * @property {OnAirMessage} on_air
 * @property {SituationMessage} situation
 * @property {OddsMessage} odds
 * @property {LaggedMessage} lagged
 * @property {ErrorMessage} error
 * @property {string} connection      `connecting`, `open`, `waiting`, `closed`.
 * @property {string} reset           Station whose log cannot be resumed: discard its state.
 */
