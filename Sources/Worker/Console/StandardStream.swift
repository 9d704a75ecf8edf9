import Foundation

/// Standard output and standard error. Everything that the programs print goes through `write`: a reader that
/// went away, a full disk or a closed descriptor is an answer here, and never ends a process.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// To be called by every program before anything else.
    package static func prepare() {
        // A reader that went away is seen as an error of the write.
        signal(SIGPIPE, SIG_IGN)
        // A number that is free is given to the next file or connection, and what is meant for standard error
        // would be written there. The wrong direction keeps writing an error, as it is when it is closed.
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }

    /// Writes text; returns the error number, or nil when all of it was written.
    @discardableResult
    package func write(_ text: String) -> Int32? {
        var text = text
        return text.withUTF8 { Self.write(UnsafeRawBufferPointer($0), to: rawValue) }
    }

    /// Writes bytes to a descriptor; returns the error number, or nil when all of them were written.
    package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
        var rest = bytes
        while !rest.isEmpty {
            let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                continue
            }
            switch count == 0 ? EIO : errno {
            case EINTR: continue
            case EAGAIN:
                // Whoever shares the stream may have set it not to block.
                var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&room, 1, -1)
            case let fault: return fault
            }
        }
        return nil
    }
}
