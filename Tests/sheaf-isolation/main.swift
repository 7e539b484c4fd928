import SheafIsolation
import SheafSimulator

let arguments = Array(CommandLine.arguments.dropFirst())
exitProcess(await IsolationCommand.run(arguments))
