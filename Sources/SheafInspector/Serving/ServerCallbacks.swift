#if Inspector
    import CMicroHTTPD

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    // The functions that libmicrohttpd calls, on the thread of all connections. `owner` is the
    // context of the server.

    let serverBegin:
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?
        ) -> UnsafeMutableRawPointer? = { owner, target, connection in
            guard let owner, let target, let connection else { return nil }
            let context = Unmanaged<ServerContext>.fromOpaque(owner).takeUnretainedValue()
            // Each request on a connection has the full time.
            context.deadlines.begin(sheaf_http_socket(connection))
            // A text would repair bytes that are not UTF-8.
            let bytes = UnsafeRawBufferPointer(start: target, count: strlen(target))
            return Unmanaged.passRetained(HTTPExchange(target: Array(bytes))).toOpaque()
        }

    let serverAccess: MHD_AccessHandlerCallback = {
        owner, connection, _, method, _, part, partCount, exchange in
        guard let owner, let connection, let method, let partCount,
            let exchange = exchange?.pointee
        else { return sheaf_http_no }
        let context = Unmanaged<ServerContext>.fromOpaque(owner).takeUnretainedValue()
        var bytes: UnsafeBufferPointer<UInt8>?
        if let part, partCount.pointee > 0 {
            bytes = UnsafeBufferPointer(
                start: UnsafeRawPointer(part).assumingMemoryBound(to: UInt8.self),
                count: partCount.pointee)
        }
        partCount.pointee = 0
        return Unmanaged<HTTPExchange>.fromOpaque(exchange).takeUnretainedValue().handle(
            String(cString: method), bytes, on: connection, context)
    }

    let serverComplete: MHD_RequestCompletedCallback = { owner, connection, exchange, _ in
        guard let owner, let connection, let exchange, let known = exchange.pointee else { return }
        Unmanaged<HTTPExchange>.fromOpaque(known).release()
        exchange.pointee = nil
        let context = Unmanaged<ServerContext>.fromOpaque(owner).takeUnretainedValue()
        context.deadlines.begin(sheaf_http_socket(connection))
    }

    let serverNotify: MHD_NotifyConnectionCallback = { owner, connection, _, event in
        guard let owner, let connection else { return }
        let context = Unmanaged<ServerContext>.fromOpaque(owner).takeUnretainedValue()
        let socket = sheaf_http_socket(connection)
        if event == sheaf_http_started {
            context.deadlines.begin(socket)
        } else {
            context.deadlines.end(socket)
        }
    }
#endif
