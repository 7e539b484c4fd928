import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafTestSupport
import Testing

/// Peers that claim false sites and stamps.
struct ForgedSiteTests {
    private let cars = "SELECT * FROM cars"

    @Test func `forged stamps make a store draw at most one site per opening`() throws {
        let scene = try DocumentScene(2)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        var sites: [Site] = []
        for opening in 0..<2 {
            try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
            try scene.subscribe(0, [cars])
            try scene.connect(0, 1)
            try scene.run()
            sites.append(scene.nodes[0].store.queries.documents.site)
            for number in 0..<3 {
                try scene.execute(0, "UPDATE cars SET n = 1 WHERE _id = 'a'")
                try scene.advance(milliseconds: 10)
                try scene.execute(0, "INSERT INTO boats DOCUMENTS ({'n': 1})")
                let field = "claim\(opening)\(number)"
                try claim(scene, field)
                #expect(try scene.rows(0, "SELECT * FROM cars").first?.contains(field) == true)
                sites.append(scene.nodes[0].store.queries.documents.site)
            }
        }
        // Only the first claim of each opening can be true, so only that one draws a site.
        #expect(Set(sites).count == 3)
        #expect(sites[0] != sites[1] && sites[1] == sites[3])
        #expect(sites[3] == sites[4] && sites[4] != sites[5] && sites[5] == sites[7])
    }

    /// Makes peer 1 send a car with a stamp of peer 0 that peer 0 never drew.
    private func claim(_ scene: DocumentScene, _ field: String) throws {
        let time = HybridTime(milliseconds: scene.nodes[0].clock.clock.wallMilliseconds() - 5)
        let stamp = Stamp(time, scene.nodes[0].store.queries.documents.site)
        let bytes = try Insertion.document([field: 1], at: stamp, NameTable())
        try scene.nodes[1].store.change(DocumentChange("cars", .string("a"), .join(bytes)))
        try scene.published(1)
        for _ in 0..<4 { try scene.advance(milliseconds: 500) }
    }

    /// Reports the site of a third peer as that of another peer, before the third one writes.
    @Test func `a peer that reports a foreign site still gets the documents of that site`() throws {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, [cars]) }
        let wire = try scene.connect(0, 1)
        scene.forge(wire, to: 0)
        try scene.connect(0, 2)
        try scene.run()
        let site = scene.nodes[2].store.queries.documents.site
        try scene.deliver(Frame(.site, NewSite(site: site).bytes), on: wire, to: 0)
        for id in ["a", "b"] {
            try scene.execute(
                2, "INSERT INTO cars DOCUMENTS (:car)", ["car": ["_id": .string(id)] as Value])
            try scene.run()
        }
        #expect(try scene.rows(1, "SELECT * FROM cars").count == 2)
        #expect(scene.nodes.allSatisfy { $0.closeMessages.isEmpty })
        #expect(scene.isConnected(wire))
    }

    @Test func `a peer whose hello has a foreign site still gets the documents of that site`()
        throws
    {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, [cars]) }
        try scene.connect(0, 2)
        try scene.run()
        let site = scene.nodes[2].store.queries.documents.site
        let wire = try scene.connect(0, 1)
        scene.forge(wire, to: 0) { frame in
            guard frame.type == .hello else { return frame }
            let hello = try frame.body.withUnsafeBytes { try Hello(decoding: $0) }
            return Frame(.hello, hello.claiming(site).bytes)
        }
        try scene.run()
        for id in ["a", "b"] {
            try scene.execute(
                2, "INSERT INTO cars DOCUMENTS (:car)", ["car": ["_id": .string(id)] as Value])
            try scene.run()
        }
        #expect(try scene.rows(1, "SELECT * FROM cars").count == 2)
        #expect(scene.isConnected(wire))
    }
}

extension Hello {
    /// Returns the hello with another site.
    fileprivate func claiming(_ site: Site) -> Hello {
        Hello(
            database: database, peerKey: peerKey, site: site, log: log, nonce: nonce,
            wallMilliseconds: wallMilliseconds, isServer: isServer, name: name)
    }
}
