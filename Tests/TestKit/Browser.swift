import Foundation

/// A headless chromium, which is driven over a pipe with the DevTools protocol.
package final class Browser {
    package static let path = "/usr/bin/chromium"

    private let process = Process()
    private let files: TemporaryDirectory
    private let commands = Pipe()
    private let answers = Pipe()
    private var buffer: [UInt8] = []
    private var lastID = 0
    /// Events that were received and not yet taken, by session.
    private var events: [String: [Event]] = [:]

    package struct Event {
        package let method: String
        package let parameters: [String: Any]
    }

    package init() throws {
        files = try TemporaryDirectory()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // The protocol uses the descriptors 3 and 4. The browser ends when they are closed.
        process.arguments = [
            "-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null", Self.path,
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--no-first-run", "--remote-debugging-pipe",
            "--user-data-dir=\(files.path)/browser",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            // One process shows all pages. Pictures do not depend on the settings of the machine's fonts.
            "--renderer-process-limit=1", "--hide-scrollbars", "--font-render-hinting=none",
            "--force-color-profile=srgb", "--disable-lcd-text", "about:blank",
        ]
        process.standardInput = commands
        process.standardOutput = answers
        process.standardError = FileHandle.nullDevice
        try Spawning.apart { try process.run() }
        // Otherwise reading does not end when the browser does.
        try commands.fileHandleForReading.close()
        try answers.fileHandleForWriting.close()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    package func stop() throws {
        try call("Browser.close")
        Wait.until { !process.isRunning }
    }

    /// Calls a method of the protocol and waits for its result.
    @discardableResult
    package func call(
        _ method: String, _ parameters: [String: Any] = [:], session: String? = nil
    ) throws -> [String: Any] {
        lastID += 1
        var command: [String: Any] = ["id": lastID, "method": method, "params": parameters]
        command["sessionId"] = session
        try commands.fileHandleForWriting.write(
            contentsOf: JSONSerialization.data(withJSONObject: command) + [0])
        while true {
            let received = try receive(for: method)
            guard received["id"] as? Int == lastID else {
                keep(received)
                continue
            }
            if let error = received["error"] { throw TestFault("\(method): \(error)") }
            return received["result"] as? [String: Any] ?? [:]
        }
    }

    /// Waits for an event of a session. Earlier events stay.
    package func wait(for method: String, session: String) throws {
        while events[session]?.contains(where: { $0.method == method }) != true {
            keep(try receive(for: method))
        }
    }

    /// The events of a session since the last call.
    package func takeEvents(session: String) -> [Event] {
        events.removeValue(forKey: session) ?? []
    }

    private func keep(_ received: [String: Any]) {
        guard let method = received["method"] as? String,
            let session = received["sessionId"] as? String
        else { return }
        events[session, default: []].append(
            Event(method: method, parameters: received["params"] as? [String: Any] ?? [:]))
    }

    /// The next text of the protocol, which ends in a zero byte.
    private func receive(for method: String) throws -> [String: Any] {
        let descriptor = answers.fileHandleForReading.fileDescriptor
        var part = [UInt8](repeating: 0, count: 1 << 16)
        var searched = 0
        while true {
            // Pictures are long texts in many parts.
            let end = buffer.withUnsafeBytes { bytes -> Int? in
                guard let start = bytes.baseAddress,
                    let found = memchr(start + searched, 0, bytes.count - searched)
                else { return nil }
                return UnsafeRawPointer(found) - start
            }
            if let end {
                defer { buffer.removeFirst(end + 1) }
                return try jsonObject(String(decoding: buffer[..<end], as: UTF8.self))
            }
            searched = buffer.count
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, Int32(4 * Wait.seconds * 1000)) > 0 else {
                throw TestFault("\(method): the browser does not answer")
            }
            let count = read(descriptor, &part, part.count)
            guard count > 0 else { throw TestFault("\(method): the browser has ended") }
            buffer += part[..<count]
        }
    }
}

/// One page in a tab of a browser.
package final class BrowserTab {
    private let browser: Browser
    private let session: String
    private let target: String

    package init(_ browser: Browser) throws {
        self.browser = browser
        let made = try browser.call("Target.createTarget", ["url": "about:blank"])
        target = made["targetId"] as? String ?? ""
        let attached = try browser.call(
            "Target.attachToTarget", ["targetId": target, "flatten": true])
        session = attached["sessionId"] as? String ?? ""
        for domain in ["Page", "Runtime", "Log"] { try call("\(domain).enable") }
    }

    package func close() throws {
        try browser.call("Target.closeTarget", ["targetId": target])
    }

    @discardableResult
    package func call(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
        try browser.call(method, parameters, session: session)
    }

    /// Opens an address and waits until it is loaded. Returns what the console reports of it.
    package func open(_ address: String) throws -> [String] {
        _ = browser.takeEvents(session: session)
        let result = try call("Page.navigate", ["url": address])
        if let fault = result["errorText"] { throw TestFault("\(address): \(fault)") }
        try browser.wait(for: "Page.loadEventFired", session: session)
        return try consoleFaults()
    }

    /// Evaluates an expression that leads to another page, and waits until that is loaded.
    package func follow(_ script: String) throws {
        _ = browser.takeEvents(session: session)
        try evaluate(script)
        try browser.wait(for: "Page.loadEventFired", session: session)
    }

    /// Waits until the page is loaded once more.
    package func waitForReload() throws {
        _ = browser.takeEvents(session: session)
        try browser.wait(for: "Page.loadEventFired", session: session)
    }

    /// Errors and warnings of the console, and failed requests, since the last call.
    package func consoleFaults() throws -> [String] {
        browser.takeEvents(session: session).compactMap { event in
            switch event.method {
            case "Runtime.exceptionThrown": return "\(event.parameters)"
            case "Runtime.consoleAPICalled": return "\(event.parameters["args"] ?? "")"
            case "Log.entryAdded":
                let entry = event.parameters["entry"] as? [String: Any]
                let isFault = ["error", "warning"].contains(entry?["level"] as? String)
                return isFault ? "\(entry ?? [:])" : nil
            default: return nil
            }
        }
    }

    /// Sets the size of the window in CSS pixels, and the preferred colours.
    package func show(width: Int, height: Int = 900, isDark: Bool = false) throws {
        try call("Page.bringToFront")
        try call(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
        let colours = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
        try call("Emulation.setEmulatedMedia", ["features": [colours]])
        // Listeners of the window's size run before the next frame.
        try evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    }

    /// The value of an expression, or of its promise. The page's Content-Security-Policy does not limit it.
    ///
    /// - Parameter world: a world of its own that `makeWorld` returned; nil for that of the page.
    @discardableResult
    package func evaluate(_ script: String, in world: Int? = nil) throws -> Any? {
        var parameters: [String: Any] = [
            "expression": script, "returnByValue": true, "awaitPromise": true,
        ]
        parameters["contextId"] = world
        let answer = try call("Runtime.evaluate", parameters)
        if let thrown = answer["exceptionDetails"] { throw TestFault("\(thrown)") }
        return (answer["result"] as? [String: Any])?["value"]
    }

    /// A world of scripts that sees the page's elements and none of its variables.
    package func makeWorld() throws -> Int {
        let tree = try call("Page.getFrameTree")["frameTree"] as? [String: Any]
        let frame = (tree?["frame"] as? [String: Any])?["id"] as? String ?? ""
        let made = try call("Page.createIsolatedWorld", ["frameId": frame])
        guard let world = made["executionContextId"] as? Int else {
            throw TestFault("Page.createIsolatedWorld: \(made)")
        }
        return world
    }

    /// A PNG of the page down to a height, in Base64.
    package func picture(width: Int, mostHeight: Int) throws -> String {
        try show(width: width)
        let height = try evaluate("document.documentElement.scrollHeight") as? Int ?? 0
        // What is outside of the window is not always painted.
        try show(width: width, height: min(height, mostHeight))
        let answer = try call("Page.captureScreenshot", ["optimizeForSpeed": true])
        return answer["data"] as? String ?? ""
    }
}
