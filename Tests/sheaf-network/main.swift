// Measures a transport between processes, and what it leaves behind.
await NetworkCommand.run(Array(CommandLine.arguments.dropFirst()))
