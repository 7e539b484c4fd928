import SheafInspector
import SheafTestSupport
import Testing

/// Tests of a body that grows while it is sent.
@Suite struct StreamBodyTests {
    private let calls = RecordedCalls()
    private let body: StreamBody

    init() {
        let calls = calls
        body = StreamBody { calls.add("drained") }
    }

    /// Reads at most `count` bytes; returns them, or the state of the body.
    private func read(_ count: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        let calls = calls
        let step = bytes.withUnsafeMutableBytes { buffer in
            body.read(into: buffer) {
                calls.add("suspended")
                return { calls.add("resumed") }
            }
        }
        switch step {
        case .bytes(let count): return String(decoding: bytes[..<count], as: UTF8.self)
        case .waiting: return "waiting"
        case .ended: return "ended"
        }
    }

    @Test func `bytes are read in pieces, and the body is drained after the last one`() {
        body.write(Array("abcde".utf8))
        #expect(read(2) == "ab" && read(2) == "cd")
        #expect(calls.take() == [])
        body.write(Array("fg".utf8))
        #expect(read(2) == "ef")
        #expect(calls.take() == [])
        #expect(read(2) == "g")
        #expect(calls.take() == ["drained"])
        body.write(Array("h".utf8))
        #expect(read(9) == "h")
        #expect(calls.take() == ["drained"])
    }

    @Test func `an empty body suspends its connection, and bytes or the end resume it once`() {
        #expect(read(5) == "waiting")
        #expect(calls.take() == ["suspended"])
        body.write(Array("a".utf8))
        body.write(Array("b".utf8))
        #expect(calls.take() == ["resumed"])
        #expect(read(5) == "ab")
        #expect(read(5) == "waiting")
        #expect(calls.take() == ["drained", "suspended"])
        body.end()
        #expect(calls.take() == ["resumed"])
        #expect(body.isEnded && read(5) == "ended")
        #expect(calls.take() == [])
    }

    @Test func `a body ends after its unsent bytes, and takes no others`() {
        body.write(Array("ab".utf8))
        #expect(!body.isEnded)
        body.end()
        body.write(Array("cd".utf8))
        #expect(body.isEnded && !body.hasRoom)
        #expect(read(1) == "a" && read(5) == "b" && read(5) == "ended")
    }

    @Test func `a body has room until 262,144 bytes are unsent`() {
        body.write([UInt8](repeating: 97, count: 262_143))
        #expect(body.hasRoom)
        body.write([97])
        #expect(!body.hasRoom)
        _ = read(1)
        #expect(body.hasRoom)
        body.write([97])
        #expect(!body.hasRoom)
    }
}
