import SheafDocument
import SheafInspector
import SheafSystem

/// Inspectors of the running peer, each for one command `sheaf inspect`.
extension PeerAnswers {
    /// Maximum number of running inspectors, each of which occupies a control connection.
    private static let maximumInspectors = 4

    /// Runs an inspector until the client ends its connection, or the peer stops.
    func inspect(_ request: Object, _ response: ControlResponse) throws(ToolError) {
        let address = try request.text("address")
        guard let port = request.number("port").flatMap({ UInt16(exactly: $0) }) else {
            throw .failed("the field 'port' is missing or not the number of a port")
        }
        let options = InspectorOptions(address: address, isWritable: request.isTrue("isWritable"))
        try addInspector()
        defer { state.withLock { $0.inspectorCount -= 1 } }
        let peer = peer
        let inspector = try waitFor {
            try await Inspector.start(peer, port: port, options: options)
        }
        var line = JSONLine()
        line.add("url", inspector.url)
        line.add("isLoopback", inspector.isLoopback)
        if response.write(line.closed) { response.waitForEnd() }
        try waitFor { await inspector.stop() }
        guard !state.withLock({ $0.isStopping }) else {
            throw .failed("the peer on the store has stopped, and with it the inspector")
        }
    }

    private func addInspector() throws(ToolError) {
        let isAdded = state.withLock { state in
            guard state.inspectorCount < Self.maximumInspectors else { return false }
            state.inspectorCount += 1
            return true
        }
        guard !isAdded else { return }
        throw .failed(
            "\(Self.maximumInspectors) inspectors of the peer are running; end one of the commands "
                + "'sheaf inspect'")
    }
}
