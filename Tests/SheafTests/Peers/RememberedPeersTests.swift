import Sheaf
import SheafBytes
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import SheafSystem
import Testing

import class SheafSystem.EvaluationStop

/// Tests of the status and the rights of peers, which outlive their connections.
struct RememberedPeersTests {
    private let key: [UInt8] = [1]

    private func authorization(
        _ rights: PeerRights? = nil, own: PeerRights? = nil, isServer: Bool = false
    ) -> RememberedPeers.Authorization {
        RememberedPeers.Authorization(
            PeerAccess(rights, own: own, SyncScopes(), until: EvaluationStop()),
            isServer: isServer)
    }

    private func isCurrent(_ commit: UInt64, _ peers: RememberedPeers, _ key: [UInt8]) -> Bool {
        peers.isCurrent(
            upTo: Cursor(log: XXH3.Hash128(low: 1, high: 2), commit: commit), of: key)
    }

    // MARK: Rights

    @Test func `cursors from before a change of rights are invalid, on either side`() {
        let some = PeerRights(read: ["cars": "true"], write: [:])
        let cases = [
            authorization(some), authorization(own: some), authorization(isServer: true),
        ]
        for changed in cases {
            var peers = RememberedPeers()
            let first = peers.record(authorization(), of: key, through: 5)
            #expect(!first && isCurrent(0, peers, key))
            let isSame = peers.record(authorization(), of: key, through: 6)
            #expect(!isSame && isCurrent(0, peers, key))
            let isChanged = peers.record(changed, of: key, through: 7)
            #expect(isChanged)
            #expect(!isCurrent(7, peers, key) && isCurrent(8, peers, key))
            // The commit of the last change is kept.
            let again = peers.record(changed, of: key, through: 20)
            #expect(!again && !isCurrent(7, peers, key) && isCurrent(8, peers, key))
            #expect(isCurrent(0, peers, [2]))
        }
    }

    @Test func `changed rights discard what a peer has written to hidden documents`() {
        var peers = RememberedPeers()
        let address = DocumentAddress(collection: "cars", id: [1])
        _ = peers.record(authorization(), of: key, through: 5)
        let limited = peers.openLimitedPeer(key)
        _ = limited.repair(address)
        limited.shadows.set(address, [1])
        _ = peers.record(authorization(), of: key, through: 6)
        #expect(limited.shadows.documents == [address: [1]])
        _ = peers.record(
            authorization(PeerRights(read: [:], write: [:])), of: key, through: 7)
        #expect(limited.shadows.documents.isEmpty && limited.repairs == [address])
        let opened = peers.openLimitedPeer(key)
        #expect(opened === limited)
    }

    @Test func `cursors from before a wider scope are invalid for all peers`() {
        var peers = RememberedPeers()
        _ = peers.record(authorization(), of: key, through: 5)
        peers.recordWidening(through: 9)
        for peer in [key, [2]] {
            #expect(!isCurrent(9, peers, peer) && isCurrent(10, peers, peer))
        }
    }

    @Test func `peers that are not connected are discarded, with their cursors`() {
        var peers = RememberedPeers()
        for number: UInt8 in 1...3 {
            _ = peers.record(authorization(), of: [number], through: 5)
            _ = peers.change([number]) { $0.name = "peer \(number)" }
        }
        let limited = (1...3 as ClosedRange<UInt8>).map { peers.openLimitedPeer([$0]) }
        peers.discard(but: [[2]], through: 30)
        let names = (1...3 as ClosedRange<UInt8>).map { peers[[$0]]?.name }
        #expect(names == [nil, "peer 2", nil])
        let changed = peers.drainChanged()
        #expect(changed.mapValues(\.name) == [[2]: "peer 2"])
        #expect(!isCurrent(30, peers, [2]) && isCurrent(31, peers, [2]))
        let opened = (1...3 as ClosedRange<UInt8>).map { peers.openLimitedPeer([$0]) }
        #expect(zip(limited, opened).map { $0 === $1 } == [false, true, false])
        // Their rights count as those of new peers.
        let isChanged = peers.record(authorization(isServer: true), of: [1], through: 31)
        #expect(!isChanged)
    }

    // MARK: Status

    @Test func `a status is reported once after each change`() {
        var peers = RememberedPeers()
        #expect(peers[key] == nil)
        let isNew = peers.change(key) { $0.name = "one" }
        _ = peers.change([2]) { $0.updates = 1 }
        #expect(isNew)
        let first = peers.drainChanged()
        #expect(first.mapValues(\.name) == [key: "one", [2]: ""])
        let isSame = peers.change(key) { $0.name = "one" }
        #expect(!isSame)
        let second = peers.drainChanged()
        #expect(second.isEmpty)
        let isOther = peers.change(key) { $0.syncedUpTo = 4 }
        #expect(isOther)
        let third = peers.drainChanged()
        #expect(third.mapValues(\.syncedUpTo) == [key: 4])
    }

    @Test func `the end of a connection is in the status, with the number of short ones`() throws {
        var peers = RememberedPeers()
        _ = peers.change(key) { status in
            (status.isConnected, status.updates) = (true, 7)
            status.address = "a:1"
        }
        _ = peers.drainChanged()
        let isShort = [true, true, false, true]
        var counts: [UInt64] = []
        for (index, isShort) in isShort.enumerated() {
            counts.append(
                peers.recordEnded(
                    key, at: "b:\(index)", .lost("reset \(index)"), wall: 40 + UInt64(index),
                    isShort: isShort))
        }
        #expect(counts == [1, 2, 1, 2])
        let status = try #require(peers[key])
        #expect(!status.isConnected && status.updates == 7)
        #expect(status.address == "b:3" && status.lastCloseReason == "reset 3")
        #expect(status.endedMilliseconds == 43 && status.shortConnections == 2)
        let changed = peers.drainChanged()
        #expect(changed == [key: status])
    }
}
