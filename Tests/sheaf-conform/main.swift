import SheafConformance
import SheafSimulator

let code = ConformCommand.run(Array(CommandLine.arguments.dropFirst()))
exitProcess(code)
