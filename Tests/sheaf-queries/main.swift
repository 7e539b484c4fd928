import SheafSimulator

let arguments = Array(CommandLine.arguments.dropFirst())
exitProcess(QueriesCommand.run(arguments))
