import SheafSimulator

let arguments = Array(CommandLine.arguments.dropFirst())
exitProcess(MergesCommand.run(arguments))
