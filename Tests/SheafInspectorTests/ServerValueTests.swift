import SheafDocument
import SheafInspector
import Synchronization
import Testing

/// Tests of the values of the server: deadlines, limits, rows and errors.
@Suite struct ServerValueTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func `a request must arrive within ten seconds, on each socket by itself`() {
        var deadlines = RequestDeadlines(seconds: ServerLimits().seconds)
        #expect(deadlines.isEmpty)
        deadlines.begin(3, at: 7)
        deadlines.begin(4, at: 8)
        deadlines.begin(5, at: 8)
        deadlines.end(5)
        deadlines.end(6)
        #expect(!deadlines.isEmpty)
        let early = deadlines.takeExpired(at: 10 * Self.second + 6)
        #expect(early == [])
        let first = deadlines.takeExpired(at: 10 * Self.second + 7)
        #expect(first == [3])
        // The time begins anew with each request.
        deadlines.begin(4, at: 9)
        let between = deadlines.takeExpired(at: 10 * Self.second + 8)
        #expect(between == [] && !deadlines.isEmpty)
        deadlines.begin(8, at: 1)
        let second = deadlines.takeExpired(at: 10 * Self.second + 9)
        #expect(second.sorted() == [4, 8] && deadlines.isEmpty)
        #expect(deadlines.nextCheck(after: 5) == 2_500_000_005)
    }

    @Test func `one thread is left to requests that run no statement`() {
        var limits = ServerLimits()
        #expect(limits.threads == 4 && limits.statements == 3)
        for (threads, statements) in [(1, 1), (2, 1), (3, 2), (16, 15)] {
            limits.threads = threads
            #expect(limits.statements == statements)
        }
        #expect(limits.connectionBytes == 262_144)
    }

    @Test func `rows have at most 1 MiB each, and 8 MiB together`() {
        let row = [UInt8](repeating: 0x78, count: 1_048_576)
        var rows = AnswerRows()
        let isTooLong = rows.append(row + [0x78])
        #expect(!isTooLong && rows.bytes == Array("[".utf8))
        for _ in 0..<7 {
            let isAppended = rows.append(row)
            #expect(isAppended)
        }
        // A bracket, seven rows, and the commas between them.
        #expect(rows.bytes.count == 7_340_039)
        let isBeyond = rows.append([UInt8](repeating: 0x78, count: 1_048_570))
        #expect(!isBeyond && rows.bytes.count == 7_340_039)
        let isLast = rows.append([UInt8](repeating: 0x78, count: 1_048_569))
        #expect(isLast && rows.bytes.count == 8_388_609)
    }

    @Test func `rows are separated by commas, and times are in microseconds`() {
        var rows = AnswerRows()
        for row in ["{}", "{\"a\":1}", "{}"] {
            let isAppended = rows.append(Array(row.utf8))
            #expect(isAppended)
        }
        #expect(String(decoding: rows.bytes, as: UTF8.self) == "[{},{\"a\":1},{}")
        let times: [UInt64] = [0, 999, 1_000, 1_234_567, 2_000_000_999]
        #expect(times.map(AnswerRows.milliseconds) == [0, 0, 0.001, 1.234, 2_000])
    }

    @Test func `an error of a store has the status of its reason`() {
        let statuses: [(reason: StoreError.Reason, status: Int)] = [
            (.syntax, 400), (.meaning, 400), (.argument, 400), (.limit, 400), (.conflict, 400),
            (.notFound, 400), (.missing, 400), (.damaged, 500), (.full, 500), (.disk, 500),
            (.inUse, 500), (.notAStore, 500), (.unsupported, 500), (.readOnly, 403),
            (.nestedTransaction, 400), (.transactionEnded, 400), (.timedOut, 400),
            (.cancelled, 400), (.closed, 500), (.failed, 500),
        ]
        for (reason, status) in statuses {
            #expect(ErrorAnswer(StoreError(reason, "a")).status == status, "\(reason)")
        }
    }

    @Test func `an error has its message, hint and position`() {
        let excerpt = StoreError.Excerpt(
            line: 2, column: 7, text: "text", markStart: 3, markLength: 5)
        let complete = ErrorAnswer(
            StoreError(.syntax, "wrong", hint: "right", excerpt: excerpt))
        #expect(
            complete.data == [
                "error": [
                    "message": "wrong", "hint": "right", "line": 2, "column": 7, "length": 5,
                ]
            ])
        #expect(ErrorAnswer(StoreError(.failed, "a")).data == ["error": ["message": "a"]])
    }

    @Test func `a closed body has no bytes, takes none, and is drained`() {
        let drained = Mutex(0)
        let body = StreamBody { drained.withLock { $0 += 1 } }
        body.write([1, 2])
        body.close()
        body.write([3])
        #expect(body.isEnded && !body.hasRoom && drained.withLock { $0 } == 1)
        var bytes: [UInt8] = [0, 0]
        let step = bytes.withUnsafeMutableBytes { body.read(into: $0) { {} } }
        guard case .ended = step else {
            Issue.record("The body has not ended.")
            return
        }
        #expect(bytes == [0, 0] && drained.withLock { $0 } == 1)
    }
}
