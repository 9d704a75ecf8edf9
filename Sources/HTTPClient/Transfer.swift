import CCurl
import EventLog
import Foundation
import Streams

/// One request of libcurl to one address, over a new connection or a reused one to the same name and address. Used on
/// the sender's thread only.
final class Transfer {
    /// A longer discarded body is cut off together with its connection.
    static let bodyBytes = 65_536
    /// After this time the next address of the name is tried.
    private static let connectMilliseconds = 5000

    /// libcurl's, for the calls of `curl_multi`.
    let handle: UnsafeMutableRawPointer
    /// Status and pause, once the head of the answer has arrived.
    private var head: (status: Int, pause: Int64?)?
    private var hasBegun = false
    private var bodyByteCount = 0
    /// The longest body to keep; nil to discard it.
    private let keptBytes: Int?
    private var body: [UInt8] = []
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var addresses: UnsafeMutablePointer<curl_slist>?
    private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private let chainFault = UnsafeMutablePointer<weir_chain_fault>.allocate(capacity: 1)

    /// - Parameters:
    ///   - authorities: a PEM file with the accepted authorities; nil for those of the system.
    ///   - idleSeconds: a connection that was idle for longer is not used again.
    init(
        _ request: OutgoingRequest, to address: IPAddress, authorities: String?, idleSeconds: Int
    ) throws(CurlFault) {
        guard Self.isReady, let handle = curl_easy_init() else {
            throw CurlFault(code: CURLE_FAILED_INIT)
        }
        self.handle = handle
        keptBytes = request.answerBytes
        words.initialize(to: 0)
        chainFault.initialize(to: weir_chain_fault())
        try setConnection(to: address, authorities: authorities)
        try set(CURLOPT_MAXAGE_CONN, idleSeconds)
        try set(request)
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headers)
        curl_slist_free_all(addresses)
        words.deallocate()
        chainFault.deallocate()
    }

    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// The certificate is checked for the name in the url, wherever it leads. libcurl reuses only a connection that
    /// was made for the same name to the same address.
    private func setConnection(to address: IPAddress, authorities: String?) throws(CurlFault) {
        let written = address.bytes.count == 4 ? "\(address)" : "[\(address)]"
        addresses = curl_slist_append(nil, "::\(written):")
        try set(CURLOPT_CONNECT_TO, addresses)
        try set(CURLOPT_CONNECTTIMEOUT_MS, Self.connectMilliseconds)
        try set(CURLOPT_NOSIGNAL, 1)
        // Not those of the environment.
        try set(CURLOPT_PROXY, "")
        // libcurl keeps the parsed authorities only without a second source.
        try set(CURLOPT_CAPATH, nil as UnsafeRawPointer?)
        if let authorities { try set(CURLOPT_CAINFO, authorities) }
        try check(weir_curl_set_chain_fault(handle, chainFault))
        try set(CURLOPT_ERRORBUFFER, words)
    }

    private func set(_ request: OutgoingRequest) throws(CurlFault) {
        try set(CURLOPT_URL, request.url)
        try set(CURLOPT_PATH_AS_IS, 1)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        let body = request.body ?? []
        if !body.isEmpty || request.method != "GET" {
            try check(body.withUnsafeBytes { weir_curl_set_body(handle, $0.baseAddress, $0.count) })
            try set(CURLOPT_CUSTOMREQUEST, request.method)
        }
        for line in Self.lines(request.headers) { headers = curl_slist_append(headers, line) }
        try set(CURLOPT_HTTPHEADER, headers)
        try check(
            weir_curl_set_callbacks(
                handle,
                { line, size, count, transfer in
                    let length = size * count
                    Transfer.of(transfer).readHead(
                        line: UnsafeRawBufferPointer(start: line, count: length))
                    return length
                },
                { bytes, size, count, transfer in
                    Transfer.of(transfer).read(
                        UnsafeRawBufferPointer(start: bytes, count: size * count))
                },
                { transfer, _, _, _, _ in Transfer.of(transfer).begin() },
                Unmanaged.passUnretained(self).toOpaque()))
    }

    /// The headers as libcurl accepts them. A line without a value, `Name:`, removes a header that libcurl would add;
    /// an empty header is written `Name;`.
    private static func lines(_ headers: [OutgoingRequest.Header]) -> [String] {
        let names = Set(headers.map { $0.name.lowercased() })
        return headers.map { header in
            header.value.allSatisfy { $0 == " " }
                ? "\(header.name);" : "\(header.name): \(header.value)"
        }
            + ["Accept", "Content-Type", "Expect"].filter { !names.contains($0.lowercased()) }.map {
                "\($0):"
            }
    }

    private func set(_ option: CURLoption, _ value: Int) throws(CurlFault) {
        try check(weir_curl_set_number(handle, option, value))
    }

    private func set(_ option: CURLoption, _ value: UnsafeRawPointer?) throws(CurlFault) {
        try check(weir_curl_set_pointer(handle, option, value))
    }

    private func check(_ code: CURLcode) throws(CurlFault) {
        guard code == CURLE_OK else { throw CurlFault(code: code) }
    }
}

/// libcurl cannot make a request.
struct CurlFault: Error, CustomStringConvertible {
    let code: CURLcode

    var description: String { "libcurl: \(String(cString: curl_easy_strerror(code)))" }
}

// The calls of libcurl during a transfer.
extension Transfer {
    fileprivate static func of(_ context: UnsafeMutableRawPointer?) -> Transfer {
        guard let context else { preconditionFailure("libcurl calls back without its context") }
        return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }

    /// libcurl would send a request again if a reused connection ends before the answer. The schedule of retries
    /// decides that.
    fileprivate func begin() -> Int32 {
        defer { hasBegun = true }
        return hasBegun ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK
    }

    /// An empty line ends a head. Those of 1xx come before the answer, and lines of trailers after it.
    fileprivate func readHead(line: UnsafeRawBufferPointer) {
        guard head == nil, line.allSatisfy({ [0x0D, 0x0A].contains($0) }) else { return }
        let status = weir_curl_number(handle, CURLINFO_RESPONSE_CODE)
        guard status >= 200 else { return }
        let pause = header("Retry-After").flatMap { text in
            RetryAfter.milliseconds(text, date: header("Date"))
        }
        head = (status, pause)
    }

    /// Keeps or discards a part of the body. A short body is read to its end, so that the connection can be reused.
    fileprivate func read(_ part: UnsafeRawBufferPointer) -> Int {
        bodyByteCount += part.count
        guard bodyByteCount <= keptBytes ?? Self.bodyBytes else { return 0 }
        if keptBytes != nil { body += part }
        return part.count
    }

    private func header(_ name: String) -> String? {
        var found: UnsafeMutablePointer<curl_header>?
        guard curl_easy_header(handle, name, 0, UInt32(CURLH_HEADER), -1, &found) == CURLHE_OK
        else {
            return nil
        }
        return found.map { String(cString: $0.pointee.value) }
    }
}

// The end of a transfer.
extension Transfer {
    /// Whether the head of an answer has arrived.
    var hasAnswer: Bool { head != nil }

    /// The result of the request; without a code, at its deadline. If bodies are discarded, the head of an answer counts
    /// even if the rest fails or is late.
    func result(_ code: CURLcode?) -> RequestResult {
        if let head, keptBytes == nil || code == CURLE_OK {
            return .answered(
                status: head.status, retryAfterMilliseconds: head.pause, body: body)
        }
        if let keptBytes, bodyByteCount > keptBytes {
            return .failed(
                .protocolError, detail: "the answer is longer than \(keptBytes) bytes")
        }
        guard let code else { return .failed(.timeout, detail: "no answer in time") }
        return fault(code)
    }

    /// Whether no part of the request can have reached the receiver.
    func neverConnected(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_COULDNT_CONNECT: true
        // Of connecting, which includes the encryption: deadlines of requests are not libcurl's.
        case CURLE_OPERATION_TIMEDOUT: !chainFault.pointee.has_begun
        default: false
        }
    }

    private func fault(_ code: CURLcode) -> RequestResult {
        switch code {
        case CURLE_OPERATION_TIMEDOUT:
            .failed(
                .timeout,
                detail: neverConnected(code)
                    ? "no connection in time" : "no encrypted connection in time")
        case CURLE_PEER_FAILED_VERIFICATION where chainFault.pointee.code == X509_V_OK:
            .failed(.tls, detail: "the certificate is for another name than the host in the url")
        case CURLE_PEER_FAILED_VERIFICATION:
            .failed(.tls, detail: ChainFault.words(chainFault.pointee))
        case CURLE_SSL_CACERT_BADFILE:
            .failed(
                .tls,
                detail: "the authorities of this machine cannot be read: install ca-certificates")
        case CURLE_SSL_CONNECT_ERROR:
            .failed(.tls, detail: reasonOfOpenSSL ?? "the connection ended before it was encrypted")
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
            .failed(.protocolError, detail: "the answer is not HTTP: \(explanation(code))")
        case CURLE_COULDNT_CONNECT, CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            lost(code)
        // No head arrived, or the request would have been sent again.
        case CURLE_GOT_NOTHING, CURLE_OK, CURLE_ABORTED_BY_CALLBACK:
            .failed(.connection, detail: "the connection ended before the answer")
        default: .failed(.connection, detail: explanation(code))
        }
    }

    private func lost(_ code: CURLcode) -> RequestResult {
        if let reasonOfOpenSSL { return .failed(.tls, detail: reasonOfOpenSSL) }
        let number = Int32(weir_curl_number(handle, CURLINFO_OS_ERRNO))
        return .failed(
            .connection, detail: number == 0 ? explanation(code) : String(cString: strerror(number))
        )
    }

    /// OpenSSL's reason without its codes and places, for example "wrong version number".
    private var reasonOfOpenSSL: String? {
        String(cString: words).firstMatch(of: /SSL routines:[^:]*:(.+)/).map { String($0.1) }
    }

    private func explanation(_ code: CURLcode) -> String {
        let text = String(cString: words)
        return text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
    }
}

enum ChainFault {
    /// The fault of certificates that are not accepted. One that is out of date is named, the receiver's own first.
    static func words(
        _ fault: weir_chain_fault, nowSeconds: Int64 = WallClock.milliseconds / 1000
    ) -> String {
        func time(_ seconds: Int64) -> String { UTC.text(milliseconds: seconds * 1000) }
        if fault.position >= 0 {
            let which =
                fault.position == 0
                ? "the certificate" : "certificate \(fault.position + 1) of its chain"
            return fault.not_after < nowSeconds
                ? "\(which) has expired: it was valid until \(time(fault.not_after))"
                : "\(which) is not valid yet: it is valid from \(time(fault.not_before)), according to the clock of this machine"
        }
        guard untrusted.contains(fault.code) else {
            return
                "the certificate is not accepted: \(String(cString: X509_verify_cert_error_string(Int(fault.code))))"
        }
        return
            "the certificate is not trusted: no authority known to this machine issued it, or an intermediate certificate is missing"
    }

    private static let untrusted: Set = [
        X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
        X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
        X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_UNTRUSTED,
    ]
}
