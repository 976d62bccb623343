variable "bucket" {
  description = "Private bucket in the region for the programs and the template"
  type        = string
}

locals {
  assets = fileset("${path.module}/assets", "*.zip")
}

resource "aws_s3_object" "asset" {
  for_each = local.assets
  bucket   = var.bucket
  key      = each.value
  source   = "${path.module}/assets/${each.value}"
}

resource "aws_s3_object" "template" {
  bucket = var.bucket
  key    = "template-${filemd5("${path.module}/template.json")}.json"
  source = "${path.module}/template.json"
}

resource "aws_cloudformation_stack" "collabdata" {
  name         = "collabdata-prod"
  template_url = "https://${var.bucket}.s3.amazonaws.com/${aws_s3_object.template.key}"
  capabilities = ["CAPABILITY_IAM"]
  parameters = {
    AssetsBucket   = var.bucket
    GatewayLogRole = "create"
  }
  depends_on = [aws_s3_object.asset]
}

output "base_url" {
  value = aws_cloudformation_stack.collabdata.outputs["BaseUrl"]
}
