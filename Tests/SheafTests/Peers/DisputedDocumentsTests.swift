import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import Testing

/// Tests of documents that this peer may not send, until the queries of the other peer decide.
struct DisputedDocumentsTests {
    private func address(_ number: UInt8) -> DocumentAddress {
        DocumentAddress(collection: "cars", id: [number])
    }

    private func addresses(_ numbers: UInt8...) -> [DocumentAddress] { numbers.map(address) }

    /// Returns one commit, ten times the number of the document.
    private func commit(of address: DocumentAddress) -> [CommitID]? {
        [CommitID(address.id[0]) * 10]
    }

    /// Returns the numbers and commits of the documents that the peer wants.
    private func settle(
        _ documents: inout DisputedDocuments,
        _ isUnsendable: (UInt8) -> Bool? = { _ in true }
    ) -> [String] {
        let found = documents.settle { address, _ in isUnsendable(address.id[0]) }
        return found.map { "\($0.address.id[0]) \($0.commits)" }
    }

    // MARK: Documents

    @Test func `differing documents are decided in their order after the reconciliation`() {
        var documents = DisputedDocuments()
        #expect(documents.isSettled && !documents.isPending && !documents.isReviewDue)
        documents.recordDiffering(addresses(3, 1, 4, 2)) { address in
            address.id == [4] ? nil : commit(of: address)
        }
        #expect(documents.addresses == Set(addresses(1, 2, 3)))
        #expect(documents.isSettled && !documents.isPending && !documents.isReviewDue)
        let early = settle(&documents)
        #expect(early == [])
        documents.endReconciliation()
        #expect(documents.addresses == Set(addresses(1, 2, 3)))
        #expect(!documents.isSettled && documents.isPending && !documents.isReviewDue)
        let found = settle(&documents)
        #expect(found == ["1 [10]", "2 [20]", "3 [30]"])
        // Each reconciliation has its own documents.
        documents.endReconciliation()
        #expect(documents.isSettled && !documents.isPending && documents.addresses.isEmpty)
    }

    @Test func `a document that may be sent when it differs again is not decided`() {
        var documents = DisputedDocuments()
        documents.recordDiffering(addresses(1, 2), commit)
        documents.recordDiffering(addresses(1)) { _ in nil }
        documents.endReconciliation()
        let found = settle(&documents)
        #expect(found == ["2 [20]"])
    }

    @Test func `documents that the peer has sent with the local writes are not decided`() {
        var documents = DisputedDocuments()
        documents.recordDiffering(addresses(3, 4), commit)
        documents.endReconciliation()
        documents.recordDiffering(addresses(1, 2), commit)
        documents.recordLacking(addresses(5, 6), until: 1)
        documents.remove(Set(addresses(1, 3, 5, 7)))
        #expect(documents.addresses == Set(addresses(2, 4, 6)))
        documents.remove([])
        #expect(documents.addresses == Set(addresses(2, 4, 6)))
        let unsettled = settle(&documents)
        #expect(unsettled == ["4 [40]"])
        documents.endReconciliation()
        let differing = settle(&documents)
        #expect(differing == ["2 [20]"])
        documents.review(through: 1, commit)
        let lacking = settle(&documents)
        #expect(lacking == ["6 [60]"])
        #expect(!documents.isPending)
    }

    @Test func `a document that lacks a local write is decided once its commit is durable`() {
        var documents = DisputedDocuments()
        documents.recordLacking(addresses(1, 2), until: 7)
        documents.recordLacking(addresses(3, 4), until: 8)
        #expect(documents.isSettled && documents.isPending && documents.isReviewDue)
        #expect(documents.addresses == Set(addresses(1, 2, 3, 4)))
        documents.review(through: 6, commit)
        #expect(documents.isSettled && documents.isReviewDue)
        documents.review(through: 7, commit)
        // The others wait for these.
        #expect(!documents.isSettled && documents.isPending && !documents.isReviewDue)
        let first = settle(&documents)
        #expect(first.sorted() == ["1 [10]", "2 [20]"])
        #expect(documents.isSettled && documents.isPending && documents.isReviewDue)
        // A later commit may have changed a document again, and another one may be sent.
        documents.recordLacking(addresses(3), until: 9)
        documents.review(through: 8) { _ in nil }
        #expect(documents.isSettled && documents.addresses == Set(addresses(3)))
        documents.review(through: 9, commit)
        let second = settle(&documents)
        #expect(second == ["3 [30]"])
        #expect(!documents.isPending && !documents.isReviewDue)
    }

    // MARK: Decisions

    @Test func `an evaluation that pauses continues with the same document`() {
        var documents = DisputedDocuments()
        documents.recordDiffering(addresses(1, 2, 3, 4, 5), commit)
        documents.endReconciliation()
        var visited: [UInt8] = []
        let first = settle(&documents) { number in
            visited.append(number)
            return number == 2 ? nil : true
        }
        #expect(first == ["1 [10]"] && visited == [1, 2])
        #expect(documents.addresses == Set(addresses(2, 3, 4, 5)))
        let second = settle(&documents) { number in
            visited.append(number)
            return number != 3 && number != 4
        }
        #expect(second == ["2 [20]", "5 [50]"] && visited == [1, 2, 2, 3, 4, 5])
        #expect(documents.isSettled && !documents.isPending)
    }

    // MARK: Peers

    private let cars = "SELECT * FROM cars"
    private let rights = PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"])

    private func insert(_ number: Int, _ id: String, _ scene: DocumentScene) throws {
        try scene.execute(
            number, "INSERT INTO cars DOCUMENTS (:car)",
            [
                "car": [
                    "_id": .string(id), "owner": "bob", "n": 1,
                    "big": .string(String(repeating: "xy", count: 500)),
                ] as Value
            ])
    }

    private func settle(_ scene: DocumentScene) throws {
        for _ in 0..<3 { try scene.advance(milliseconds: 1_000) }
    }

    /// Returns the ids of the documents of peer 1 that peer 0 refuses.
    private func refused(_ scene: DocumentScene) -> [String] {
        scene.nodes[1].refused(by: scene.nodes[0]).map(\.documentID.json).sorted()
    }

    /// Narrows the rights after the other side has accepted the write.
    @Test func `a differing document that contains the local write is not refused`() throws {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, [cars]) }
        try insert(1, "b", scene)
        let all = PeerRights(read: ["cars": "true"], write: ["cars": "true"])
        let wire = try scene.connect(0, 1, rightsOfRight: all)
        try settle(scene)
        try scene.disconnect(wire)
        try scene.execute(0, "UPDATE cars SET n = 2")
        try scene.connect(0, 1, rightsOfRight: rights)
        try settle(scene)
        #expect(try scene.rows(1, "SELECT n FROM cars") == [#"{"n":2}"#])
        #expect(refused(scene) == [] && scene.nodes[1].newlyRefused.isEmpty)
    }

    @Test func `a document of another peer is refused only after a local write`() throws {
        let scene = try DocumentScene(3)
        for number in 0...2 { try scene.subscribe(number, [cars]) }
        try insert(2, "b", scene)
        let early = try scene.connect(2, 1)
        try settle(scene)
        try scene.disconnect(early)
        try scene.connect(0, 1, rightsOfRight: rights)
        try settle(scene)
        #expect(try scene.rows(0, "SELECT _id FROM cars") == [])
        #expect(refused(scene) == [] && scene.nodes[1].newlyRefused.isEmpty)
        try scene.execute(1, "UPDATE cars SET n = 2")
        let commit = Int64(scene.nodes[1].newestCommit)
        try settle(scene)
        let writes = scene.nodes[1].refused(by: scene.nodes[0])
        #expect(writes.map(\.commitIDs) == [[commit]])
    }

    @Test func `all local commits before the first connection are refused`() throws {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, [cars]) }
        try insert(1, "b", scene)
        let first = Int64(scene.nodes[1].newestCommit)
        try scene.execute(1, "UPDATE cars SET n = 2")
        let second = Int64(scene.nodes[1].newestCommit)
        try scene.connect(0, 1, rightsOfRight: rights)
        try settle(scene)
        let writes = scene.nodes[1].refused(by: scene.nodes[0])
        #expect(writes.map(\.commitIDs) == [[first, second]])
    }

    /// Returns three peers; each query of the first one takes a turn on a document.
    private func slowScene() throws -> DocumentScene {
        var limits = ReplicatorLimits()
        limits.evaluated = 1_000
        let scene = try DocumentScene(3, limits)
        // A deletion that meets a concurrent write leaves a document without the long text.
        let slow = (1...4).map {
            "SELECT * FROM cars WHERE char_length(repeat(coalesce(big, ''), 20)) = -\($0)"
        }
        try scene.subscribe(0, slow + ["SELECT * FROM cars WHERE owner <> 'eve'"])
        for number in 1...2 { try scene.subscribe(number, [cars]) }
        return scene
    }

    /// Sends the write to the other side through a third peer after each number of steps.
    @Test func `a write that arrives on another way is not refused`() throws {
        for steps in stride(from: 4, through: 48, by: 4) {
            let scene = try slowScene()
            try insert(1, "b", scene)
            let early = try scene.connect(1, 2)
            try settle(scene)
            try scene.disconnect(early)
            try scene.connect(0, 1, rightsOfRight: rights)
            try scene.run(steps: steps)
            try scene.connect(0, 2)
            try settle(scene)
            #expect(try scene.checksums() == 1, "after \(steps) steps")
            #expect(refused(scene) == [], "after \(steps) steps")
        }
    }

    /// Makes a deletion meet the document on the other side while another document is evaluated.
    @Test func `a refused deletion is reported although another refusal is evaluated`() throws {
        for steps in stride(from: 4, through: 48, by: 4) {
            let scene = try slowScene()
            try insert(2, "b", scene)
            let early = try scene.connect(2, 1)
            try settle(scene)
            try scene.disconnect(early)
            try scene.execute(1, "DELETE FROM cars")
            // A deletion does not cover concurrent writes.
            try scene.execute(2, "UPDATE cars SET n = 2, owner = 'ben'")
            try insert(1, "c", scene)
            try scene.connect(0, 1, rightsOfRight: rights)
            try scene.run(steps: steps)
            try scene.connect(0, 2)
            try settle(scene)
            #expect(
                try scene.rows(1, "SELECT n FROM cars WHERE _id = 'b'") == [#"{"n":2}"#],
                "after \(steps) steps")
            #expect(refused(scene) == ["\"b\"", "\"c\""], "after \(steps) steps")
        }
    }
}
