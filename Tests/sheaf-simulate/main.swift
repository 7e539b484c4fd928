import SheafSimulator

let arguments = Array(CommandLine.arguments.dropFirst())
exitProcess(SimulationCommand.run(arguments))
