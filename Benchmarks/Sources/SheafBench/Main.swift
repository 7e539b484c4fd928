import BenchHarness
import Glibc

@main
struct Main {
    static func main() async {
        let code = await Command(Workloads.all).run(Array(CommandLine.arguments.dropFirst()))
        exit(code.rawValue)
    }
}
