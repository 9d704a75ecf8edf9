// libcurl, and what of it Swift cannot call: functions with a variable number of arguments. libcurl reports only that a
// certificate was not accepted, so OpenSSL, with which Debian builds it, records why.
#ifndef WEIR_CCURL_SHIM_H
#define WEIR_CCURL_SHIM_H

#define CURL_DISABLE_TYPECHECK

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

static inline CURLcode weir_curl_set_number(CURL *curl, CURLoption option, long value) {
    return curl_easy_setopt(curl, option, value);
}

// A null pointer resets the option.
static inline CURLcode weir_curl_set_pointer(CURL *curl, CURLoption option, const void *value) {
    return curl_easy_setopt(curl, option, value);
}

// Copies the body.
static inline CURLcode weir_curl_set_body(CURL *curl, const void *bytes, size_t count) {
    CURLcode code = curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    return code == CURLE_OK ? curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, bytes) : code;
}

// `head` gets each line of a head, `body` the parts of a body, and `start` is called before a request is sent.
static inline CURLcode weir_curl_set_callbacks(
    CURL *curl, curl_write_callback head, curl_write_callback body, curl_prereq_callback start, void *context) {
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, context);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, context);
    curl_easy_setopt(curl, CURLOPT_PREREQDATA, context);
    return curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, start);
}

static inline long weir_curl_number(CURL *curl, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(curl, info, &value);
    return value;
}

static inline CURLMcode weir_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// Why a chain of certificates was not accepted.
struct weir_chain_fault {
    // Whether the connection exists and its encryption has begun.
    bool has_begun;
    // OpenSSL's; X509_V_OK if the chain was accepted, or none arrived.
    int code;
    // Of the first certificate that is expired or not valid yet, in the chain as sent; -1 for none.
    int position;
    // Its validity in seconds since 1970.
    int64_t not_before, not_after;
};

static inline int64_t weir_seconds(const ASN1_TIME *time) {
    struct tm parts;
    return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

static inline int weir_verify_chain(X509_STORE_CTX *context, void *result) {
    struct weir_chain_fault *fault = (struct weir_chain_fault *)result;
    int verdict = X509_verify_cert(context);
    if (verdict > 0) return verdict;
    int code = X509_STORE_CTX_get_error(context);
    fault->code = code == X509_V_OK ? X509_V_ERR_UNSPECIFIED : code;
    fault->position = -1;
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_untrusted(context);
    for (int i = 0; i < sk_X509_num(chain); i++) {
        X509 *certificate = sk_X509_value(chain, i);
        const ASN1_TIME *start = X509_get0_notBefore(certificate), *end = X509_get0_notAfter(certificate);
        if (X509_cmp_current_time(end) >= 0 && X509_cmp_current_time(start) <= 0) continue;
        fault->position = i;
        fault->not_before = weir_seconds(start);
        fault->not_after = weir_seconds(end);
        break;
    }
    return verdict;
}

static inline CURLcode weir_prepare_tls(CURL *curl, void *context, void *fault) {
    (void)curl;
    ((struct weir_chain_fault *)fault)->has_begun = true;
    // A connection outlives its transfer, and so `fault`: no later handshake may verify a chain again.
    SSL_CTX_set_options((SSL_CTX *)context, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_cert_verify_callback((SSL_CTX *)context, weir_verify_chain, fault);
    return CURLE_OK;
}

// Records in `fault` why the chain of a new connection was not accepted. Fails if libcurl does not use OpenSSL.
static inline CURLcode weir_curl_set_chain_fault(CURL *curl, struct weir_chain_fault *fault) {
    curl_easy_setopt(curl, CURLOPT_SSL_CTX_DATA, fault);
    return curl_easy_setopt(curl, CURLOPT_SSL_CTX_FUNCTION, weir_prepare_tls);
}

#endif
