import DittoNames
import Foundation
import Sheaf
import SheafTestSupport
import Synchronization
import Testing

/// Log messages of databases; one test at a time, since all databases of a process share the logger.
@Suite(.serialized) struct LoggerTests {
    @Test func `sync starts with no peer to reach, and logs a note`() async throws {
        let notes = Mutex<[String]>([])
        DittoLogger.setCustomLogCallback { level, message in
            guard message.contains("no peer can be reached yet") else { return }
            notes.withLock { $0.append("\(level): \(message)") }
        }
        defer { DittoLogger.setCustomLogCallback(nil) }
        let ditto = try await LoopbackScene.ditto()
        try! ditto.startSync()
        #expect(ditto.isSyncActive)
        #expect(notes.withLock { $0.contains { $0.hasPrefix("info: ") } })
        #expect(notes.withLock { $0.allSatisfy { $0.contains("connect.tcpServers") } })
        // An address that is named later is used, without another start.
        let other = try await LoopbackScene.ditto()
        let address = try await LoopbackScene.listen(other)
        ditto.updateTransportConfig { $0.connect.tcpServers.insert(address) }
        _ = await ditto.graph { !$0.remotePeers.isEmpty }
        try await ditto.close()
        try await other.close()
    }

    @Test func `what has no effect is logged`() async throws {
        let lines = Mutex<[String]>([])
        DittoLogger.setCustomLogCallback { level, message in
            lines.withLock { $0.append("\(level): \(message)") }
        }
        defer { DittoLogger.setCustomLogCallback(nil) }
        let level = DittoLogger.minimumLogLevel
        DittoLogger.minimumLogLevel = .info
        defer { DittoLogger.minimumLogLevel = level }
        let directory = TemporaryDirectory()
        let place = URL(fileURLWithPath: directory.path).appendingPathComponent("database")
        let ditto = try Ditto(
            identity: .offlinePlayground(appID: "app", siteID: 7), persistenceDirectory: place)
        #expect(ditto.appID == "app" && ditto.isActivated)
        try ditto.setOfflineOnlyLicenseToken("token")
        ditto.updateTransportConfig { $0.enableAllPeerToPeer() }
        _ = try await LoopbackScene.listen(ditto)
        let logged = lines.withLock { $0 }
        for part in [
            "warning: the site id 7 has no effect", "info: the license token has no effect",
            "warning: peerToPeer.bluetoothLE has no effect",
            "warning: peerToPeer.lan has no effect", "warning: whoever knows the id",
        ] {
            #expect(logged.contains { $0.hasPrefix(part) }, "\(part)")
        }
        try await ditto.close()
    }
}
