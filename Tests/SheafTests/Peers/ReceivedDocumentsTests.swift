import Sheaf
import SheafReplication
import SheafTestSupport
import Testing

/// The documents whose deletion a peer may learn of, compared with a sorted array.
struct ReceivedDocumentsTests {
    private func address(_ number: Int, idLength: Int = 4) -> DocumentAddress {
        var id = [UInt8](repeating: 0, count: idLength)
        for index in 0..<4 { id[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
        return DocumentAddress(collection: "cars", id: id)
    }

    @Test func `a document received again is discarded after documents received before`() {
        var received = ReceivedDocuments()
        received.add(address(0))
        for number in 1..<ReceivedDocuments.maximumCount { received.add(address(number)) }
        received.add(address(0))
        received.add(address(ReceivedDocuments.maximumCount))
        #expect(received.contains(address(0)))
        #expect(!received.contains(address(1)))
        #expect(received.contains(address(2)))
    }

    @Test func `the most recently received documents are kept, whatever their order`() {
        let seed: UInt64 = 11
        var random = SeededRandom(seed: seed, "arrivals")
        var received = ReceivedDocuments()
        var last: [Int: Int] = [:]
        for arrival in 0..<60_000 {
            // Most arrivals are of 50 documents: the order is compacted while other documents stay.
            let number = Int.random(in: 0..<(arrival % 3 == 0 ? 9_000 : 50), using: &random)
            received.add(address(number))
            last[number] = arrival
            guard arrival % 7_001 == 0 || arrival == 59_999 else { continue }
            let order = last.sorted { $0.value > $1.value }.map(\.key)
            let areCorrect = order.enumerated().allSatisfy { index, number in
                received.contains(address(number)) == (index < ReceivedDocuments.maximumCount)
            }
            #expect(areCorrect, "arrival \(arrival), seed \(seed)")
        }
    }

    @Test func `long addresses leave room for fewer documents`() {
        var received = ReceivedDocuments()
        let (length, count) = (4_000, 600)
        for _ in 0..<20 {
            for number in 0..<count { received.add(address(number, idLength: length)) }
        }
        let kept = (0..<count).filter { received.contains(address($0, idLength: length)) }
        #expect(kept == Array(count - kept.count..<count))
        #expect((200...ReceivedDocuments.maximumBytes / length).contains(kept.count))
    }
}
