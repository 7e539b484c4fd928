// Measures transports between processes, and the resources they leave open.
await NetworkCommand.run(Array(CommandLine.arguments.dropFirst()))
