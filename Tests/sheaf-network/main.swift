// Measures a transport between processes, and what it leaves behind.
NetworkCommand.run(Array(CommandLine.arguments.dropFirst()))
