import SheafQuery
import Testing

/// Statements that something has happened to.
@Suite struct DamagedStatementTests {
    /// Reads bytes as a statement; what can be read keeps its tree when it is written and read.
    ///
    /// True where it can be read.
    private func read(_ bytes: some Collection<UInt8>) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        do throws(QueryError) {
            let written = try Parser.parse(text).description
            let again = try Parser.parse(written).description
            if written != again { Issue.record("\(text)\n\(written)\n\(again)") }
            return true
        } catch {
            if error.message.isEmpty || error.excerpt == nil { Issue.record("\(text)") }
            return false
        }
    }

    @Test func `all samples are read, but for the one that is a comment`() {
        for statement in SampleStatements.all {
            #expect(read(statement.utf8) == !statement.hasPrefix("--+"), "\(statement)")
        }
    }

    @Test func `every beginning of a statement is read or refused`() {
        var count = 0
        for statement in SampleStatements.all {
            let bytes = Array(statement.utf8)
            for length in bytes.indices where read(bytes[..<length]) { count += 1 }
        }
        #expect(count > 100)
    }

    @Test func `statements that lack a byte are read or refused`() {
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

    @Test func `statements with a bit flipped are read or refused`() {
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
