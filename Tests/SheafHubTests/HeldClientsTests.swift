import SheafReplication
import SheafStorage
import Testing

/// When the clients of a hub are held.
@Suite struct HeldClientsTests {
    @Test func `clients are held beyond a number of bytes`() {
        var clients = HeldClients()
        clients.limit = 10_000
        clients.add(10_000, in: 1)
        let atLimit = clients.update(hubDurable: 0, at: 7)
        #expect(!atLimit && clients.since == nil)
        clients.add(1, in: 2)
        let beyondLimit = clients.update(hubDurable: 0, at: 8)
        #expect(beyondLimit && clients.since == 8 && clients.waitingLength == 10_001)
        let again = clients.update(hubDurable: 0, at: 9)
        #expect(!again && clients.since == 8)
    }

    @Test(arguments: [(5_001, true), (5_000, false), (4_999, false)])
    func `clients continue once half of the limit is left`(_ rest: Int, _ isHeld: Bool) {
        var clients = HeldClients()
        clients.limit = 10_000
        clients.add(20_000, in: 1)
        clients.add(rest, in: 2)
        _ = clients.update(hubDurable: 0, at: 7)
        let hasChanged = clients.update(hubDurable: 1, at: 8)
        #expect(clients.waitingLength == rest)
        #expect(hasChanged == !isHeld)
        #expect(clients.since == (isHeld ? 7 : nil))
    }

    @Test func `short batches wait until the last of them is hub-durable`() {
        var clients = HeldClients()
        // Batches shorter than 10 bytes are counted together.
        clients.limit = 10 * 1_024
        for commit: CommitID in 1...3 { clients.add(5, in: commit) }
        let waiting = (0...3 as ClosedRange<CommitID>).map { hubDurable in
            _ = clients.update(hubDurable: hubDurable, at: 7)
            return clients.waitingLength
        }
        #expect(waiting == [15, 15, 5, 0])
    }
}
