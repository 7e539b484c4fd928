import SheafDocument
import SheafReplication
import Testing

/// The times at which attachments that wait for room take their turns.
struct RelayTurnTests {
    private static let patience: UInt64 = 20_000_000_000

    @Test func `a request that waits takes its turn after twenty seconds`() {
        var turns = RelayTurns()
        #expect(!turns.areDue(at: .max))
        turns.wait(at: 5, hasRoom: false)
        // Later requests do not delay it.
        turns.wait(at: 6, hasRoom: false)
        #expect(turns.next == 5 + Self.patience)
        #expect(!turns.areDue(at: 5 + Self.patience - 1))
        #expect(turns.areDue(at: 5 + Self.patience))
        turns.end(at: 5 + Self.patience, isWaiting: true)
        #expect(turns.next == 5 + 2 * Self.patience)
        turns.useRoom(at: 7)
        #expect(turns.areDue(at: 7))
        turns.end(at: 7, isWaiting: false)
        #expect(turns.next == nil)
        turns.useRoom(at: 8)
        #expect(turns.next == nil)
        turns.wait(at: 9, hasRoom: true)
        #expect(turns.areDue(at: 9))
    }

    @Test func `an attachment that could not be fetched is tried again after twenty seconds`()
        throws
    {
        let id = try #require(AttachmentID(bytes: [UInt8](repeating: 7, count: 32)))
        var turns = RelayTurns()
        turns.recordFailure(of: id, at: 5)
        turns.end(at: 5, isWaiting: false)
        #expect(turns.next == 5 + Self.patience)
        turns.forgetFailures(at: 5 + Self.patience - 1)
        #expect(turns.hasFailed(id))
        turns.forgetFailures(at: 5 + Self.patience)
        #expect(!turns.hasFailed(id))
    }

    @Test func `scans are at least a pause apart`() {
        var turns = ScanTurns()
        turns.request(at: 7, pause: 100)
        #expect(turns.next == 7)
        let isFirst = turns.beginIfDue(at: 7)
        #expect(isFirst)
        turns.request(at: 8, pause: 100)
        // Later requests change nothing.
        turns.request(at: 9, pause: 500)
        let isEarly = turns.beginIfDue(at: 106)
        #expect(!isEarly)
        let isDue = turns.beginIfDue(at: 107)
        #expect(isDue)
        #expect(AttachmentTransfer.scanNanosecondsPerDocument == 5_000)
        #expect(AttachmentTransfer.longestScanNanoseconds == 10_000_000_000)
        #expect(ReferencingDocuments.maximumAttachments == 4_096)
    }
}
