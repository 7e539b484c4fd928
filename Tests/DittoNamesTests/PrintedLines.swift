import Synchronization

/// Takes what a sample prints, in place of the terminal.
final class PrintedLines: Sendable {
    private let lines = Mutex<[String]>([])
    private let stream: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
        lines.withLock { $0.append(line) }
        continuation.yield(line)
    }

    /// Returns with the next lines when there are so many, sorted out by nobody else.
    func next(_ count: Int) async -> [String] {
        var taken: [String] = []
        for await line in stream {
            taken.append(line)
            if taken.count == count { break }
        }
        return taken
    }
}
