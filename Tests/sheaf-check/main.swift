exitProcess(await CheckCommand.run(Array(CommandLine.arguments.dropFirst())))
