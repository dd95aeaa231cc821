# Reads varnishlog grouped by transaction, and shows misses in two lines each, as vlogdump does.
/^\*/ { xid=$5; kind=$3; next }
kind != "Request" { next }
$2=="ReqStart" { client=$3; hit="-"; status="" ; reason=""; t0=0; t1=0; skip=0; next }
$2=="ReqMethod" { m=$3; next }
$2=="ReqURL" { u=$3; next }
$2=="ReqProtocol" { p=$3; next }
$2=="VCL_call" { if ($3=="HIT") hit="hit"; else if ($3=="MISS"||$3=="PASS"||$3=="SYNTH") hit="miss"; else if ($3=="RECV") hit="-"; next }
$2=="VCL_return" { if ($3=="restart") skip=1; else if ($3=="pipe") hit="pipe"; next }
$2=="RespStatus" { status=$3; next }
$2=="RespReason" { reason=substr($0,19); next }
$2=="Timestamp" { if ($3=="Start:") t0=$4; else if ($3=="Resp:") t1=$4; next }
$2=="End" { n++; if (!skip && hit!="hit") { printf "%15s => %s %s %s MISS\n", client, m, u, p; printf "%15s <= %-59s %10.3f ms\n", "", status " " reason, (t1-t0)*1000 } next }
END { printf "\n\nTotal number of requests: %d\n\n", n }
