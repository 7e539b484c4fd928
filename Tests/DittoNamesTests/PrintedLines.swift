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

    /// Returns when a line was added.
    func wait(for line: String) async {
        guard !all.contains(line) else { return }
        for await next in stream where next == line { return }
    }

    /// Returns the next lines when `count` of them were added.
    func next(_ count: Int) async -> [String] {
        var taken: [String] = []
        for await line in stream {
            taken.append(line)
            if taken.count == count { break }
        }
        return taken
    }
}
