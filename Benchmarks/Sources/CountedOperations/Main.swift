import BenchStores
import Dispatch
import SheafDocument
import SheafStatements
import SheafStore

/// Executes one operation on cars a number of times, in transactions of up to 1,000, for a program
/// that counts the instructions or allocations of the whole process.
@main
enum CountedOperations {
    private static let usage =
        "usage: sheaf-counted DIRECTORY \(Operation.allCases.map(\.rawValue)) COUNT"

    /// Runs on the first thread and without `await`: Valgrind ends programs whose `main` is
    /// asynchronous.
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 3, let first = arguments.first, let last = arguments.last,
            let count = Int(last), count > 0,
            let operation = Operation(rawValue: arguments[arguments.startIndex + 1])
        else { fail(usage) }
        let ended = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await run(operation, count, in: first)
            } catch {
                fail("\(error)")
            }
            ended.signal()
        }
        ended.wait()
    }

    private static func fail(_ reason: String) -> Never {
        fatalError(reason)
    }

    private static func run(_ operation: Operation, _ count: Int, in directory: String) async throws
    {
        let store = try await Store.open(at: directory)
        try await store.execute("CREATE INDEX IF NOT EXISTS mileage ON cars (mileage)")
        var cars = CountedCars(store)
        try await cars.prepare(operation.needsCars ? count : 0)
        try await cars.run(operation, count)
        try await store.close()
    }
}
