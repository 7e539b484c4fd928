import Synchronization

/// The captured output of a sample.
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

    /// Waits until `line` has been added; drops the pending lines before it.
    func wait(for line: String) async {
        guard !all.contains(line) else { return }
        for await next in stream where next == line { return }
    }

    /// Returns the next `count` lines.
    func next(_ count: Int) async -> [String] {
        var collected: [String] = []
        for await line in stream {
            collected.append(line)
            if collected.count == count { break }
        }
        return collected
    }
}
