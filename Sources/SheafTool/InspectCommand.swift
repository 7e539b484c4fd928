import Sheaf
import SheafBytes
import SheafInspector

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Command {
    /// The command `sheaf inspect`.
    static let inspect = Command(
        name: "inspect", summary: "show a store in a browser until interrupted",
        operands: ["PATH"],
        options: [
            Option(
                name: "listen", value: "ADDRESS:PORT",
                summary: "listen there instead of on any free port of 127.0.0.1"),
            Option(name: "write", summary: "also execute statements that write"),
            Option(name: "no-open", summary: "print the URL without opening a browser"),
        ],
        details: """
            The first line of the output is a URL with a random token, which opens the page; the
            same server answers programs, as format-spec/inspector.md describes. On a terminal with
            a desktop, the URL is also opened in the browser. SIGINT and SIGTERM end the command.

            If 'sheaf peer serve' or 'sheaf peer connect' runs on the store, the server runs in the
            process of the peer, and shows its connections and subscriptions, too. The server ends with
            this command, and the command fails when the peer ends.

            Otherwise the store is opened for reading, so that any process may write to it meanwhile;
            commits appear when they are durable. With --write the store is opened for writing
            and locked, so no other process may write to it.

            ADDRESS is numeric, such as 127.0.0.1 or [::1]. There is no encryption: on an address
            that other machines reach, the token and all data are readable in the network.

            There is no JSON form.
            """,
        run: InspectCommand.run)
}

/// The implementation of `sheaf inspect`.
enum InspectCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let (address, port) = try Arguments.address(
            arguments.value("listen") ?? "127.0.0.1:0", of: "--listen")
        try checkIsNoFile(path)
        let options = InspectorOptions(address: address, isWritable: arguments.has("write"))
        let signals = try StopSignals()
        // Without a path for its control socket, no peer runs on the store.
        if ControlSocket.hasPath(forStore: path),
            let socket = try ControlSocket.connectingToRunningPeer(ofStore: path)
        {
            let inspection = PeerInspection(socket, ofStore: path)
            let page = try inspection.start(options, port: port)
            show(page, options, opensBrowser: !arguments.has("no-open"), output)
            return try inspection.wait(for: signals)
        }
        let store = try open(path, isWritable: options.isWritable)
        let inspector: Inspector
        do throws(ToolError) {
            inspector = try waitFor {
                try await Inspector.start(store, port: port, options: options)
            }
        } catch {
            try waitFor { try await store.close() }
            throw error
        }
        let page = InspectorPage(url: inspector.url, isLoopback: inspector.isLoopback)
        show(page, options, opensBrowser: !arguments.has("no-open"), output)
        _ = signals.wait()
        try waitFor {
            await inspector.stop()
            try await store.close()
        }
        return .ok
    }

    /// Prints the URL of the page, and opens it.
    private static func show(
        _ page: InspectorPage, _ options: InspectorOptions, opensBrowser: Bool, _ output: Output
    ) {
        output.write(page.url)
        output.flush()
        if !page.isLoopback {
            output.printMessage(
                "warning: other machines can reach \(options.address), and there is no encryption")
        }
        if opensBrowser { openBrowser(page.url) }
    }

    /// Opens a store that exists.
    private static func open(_ path: String, isWritable: Bool) throws(ToolError) -> Store {
        let store = try waitFor {
            try await Store.open(at: path, options: StoreOptions(isReadOnly: true))
        }
        guard isWritable else { return store }
        return try waitFor {
            try await store.close()
            return try await Store.open(at: path)
        }
    }

    /// Opens a URL in the browser of a user who sees a desktop; does nothing without one.
    private static func openBrowser(_ url: String) {
        #if canImport(Darwin)
            let program = "open"
        #else
            let program = "xdg-open"
            guard getenv("DISPLAY") != nil || getenv("WAYLAND_DISPLAY") != nil else { return }
        #endif
        guard isatty(STDOUT_FILENO) == 1 else { return }
        let words: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup(url), nil]
        defer { for word in words { free(word) } }
        var process = pid_t()
        // Without this program, the user opens the URL that was printed.
        _ = posix_spawnp(&process, program, nil, nil, words, environ)
    }
}
