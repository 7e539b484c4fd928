import SheafDocument
import SheafQuery
import Testing

/// Parsing of truncated and corrupted statements.
@Suite struct DamagedStatementTests {
    /// Whether the bytes parse as a statement; checks that such a statement survives printing.
    private func read(_ bytes: some Collection<UInt8>) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        do throws(StoreError) {
            let written = try Parser.parse(text).description
            let again = try Parser.parse(written).description
            if written != again { Issue.record("\(text)\n\(written)\n\(again)") }
            return true
        } catch {
            if error.message.isEmpty || error.excerpt == nil { Issue.record("\(text)") }
            return false
        }
    }

    @Test func `every sample parses, except the one that is only a comment`() {
        for statement in SampleStatements.all {
            #expect(read(statement.utf8) == !statement.hasPrefix("--+"), "\(statement)")
        }
    }

    @Test func `every prefix of a statement parses or is refused`() {
        var count = 0
        for statement in SampleStatements.all {
            let bytes = Array(statement.utf8)
            for length in bytes.indices where read(bytes[..<length]) { count += 1 }
        }
        #expect(count > 100)
    }

    @Test func `a statement with a byte removed parses or is refused`() {
        var count = 0
        for statement in SampleStatements.all {
            for index in 0..<statement.utf8.count {
                var bytes = Array(statement.utf8)
                bytes.remove(at: index)
                if read(bytes) { count += 1 }
            }
        }
        #expect(count > 500)
    }

    @Test func `a statement with a flipped bit parses or is refused`() {
        var count = 0
        for statement in SampleStatements.all {
            var bytes = Array(statement.utf8)
            for bit in 0..<bytes.count * 8 {
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                if read(bytes) { count += 1 }
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            }
        }
        #expect(count > 4_000)
    }
}
