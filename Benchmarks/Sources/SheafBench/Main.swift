import BenchHarness
import BenchWorkloads
import Foundation
import Sheaf

@main
struct Main {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.count == 3, arguments[0] == ShippingPeer.argument,
            let busyPollMicroseconds = Int(arguments[2])
        {
            do {
                try await ShippingPeer.run(
                    arguments[1], busyPollMicroseconds: busyPollMicroseconds)
                exit(0)
            } catch {
                FileHandle.standardError.write(Data("\(error)\n".utf8))
                exit(1)
            }
        }
        let command = BenchmarkCommand(Workloads.all, version: SheafVersion.current) {
            try WorkloadFile.load($0, path: $1, isQuick: $2)
        }
        let code = await command.run(arguments)
        exit(code.rawValue)
    }
}
